"""Right against left: copies that a pretrained model continues in either direction, and the claims about them."""
