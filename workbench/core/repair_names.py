"""What each blind repair of a diagnosis does, in the few words that stand beside its bar and on its chip."""

REPAIR_NAMES = {
    "P.int": "ids interpolated",
    "P.clip": "ids clipped",
    "P.low": "last ids alone",
    "P.lag": "lags clipped",
    "P.row": "trained rows",
    "D.logn": "scores \u00d7 log n",
    "D.beta2": "scores \u00d7 2",
    "D.beta4": "scores \u00d7 4",
    "D.gap": "top keys alone",
    "D.mass": "weight held",
    "K.sink": "first key held",
    "K.scale": "scale held",
    "T.slow": "steps slowed",
    "C.pool": "rows moved",
}
"""By name, as in the column ``target``; ``C.pool`` for each of its blocks."""
