"""The computations of exact claims: closed forms, enumerations and handmade models, without training."""
