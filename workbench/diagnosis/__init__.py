"""Why a model fails past its training length, and what mends it."""
