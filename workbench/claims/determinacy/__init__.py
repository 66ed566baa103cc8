"""When is the length behaviour of a run decided? Families of forks, their reach, and what it says about the step."""
