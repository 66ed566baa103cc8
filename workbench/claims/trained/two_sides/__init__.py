"""Copies that a pretrained model continues to the right or to the left, and the claims about them."""
