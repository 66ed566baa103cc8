"""Fixtures of these tests."""

from tests.support.dashboard.browsing import address, browser, gallery, page, playwright, profile
from tests.support.dashboard.fixtures import small_root

__all__ = ["address", "browser", "gallery", "page", "playwright", "profile", "small_root"]
