"""When is the length behaviour of a run decided? Families of forks, their reach, and how alike they are."""
