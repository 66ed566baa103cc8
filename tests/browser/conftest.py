"""Fixtures of these tests."""

from tests.support.dashboard.browsing import address, browser, gallery, kept, page, playwright, profile, run_page
from tests.support.dashboard.fixtures import small_root

__all__ = ["address", "browser", "gallery", "kept", "page", "playwright", "profile", "run_page", "small_root"]
