"""Does the model use what a probe decodes? Linear erasure of a concept from the residual stream."""
