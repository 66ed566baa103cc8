"""Right against left: copies that a pretrained model goes on with either way, and what claims say of the two."""
