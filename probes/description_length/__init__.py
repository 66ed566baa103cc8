"""How many bits labels cost somebody who has the activations."""
