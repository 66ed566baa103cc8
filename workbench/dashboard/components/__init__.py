"""Parts of pages: plain functions to Dash components."""
