"""Why a model fails past its training length, and which interventions recover its accuracy."""
