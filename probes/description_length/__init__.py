"""The number of bits that labels cost when the activations are known."""
