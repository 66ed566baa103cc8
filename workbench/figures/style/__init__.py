"""How figures look: colours, templates, marks and lines."""
