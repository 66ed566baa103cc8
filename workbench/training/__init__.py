"""Training: what a run is trained with, the trainer, and how an interrupted run goes on to the same bits."""
