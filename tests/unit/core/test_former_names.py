"""Former names of methods work, warn, and still override the new names in classes of other packages."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import BaseModel

from workbench.core.former_names import FormerName, OverridableFormerNames


class Base(OverridableFormerNames, BaseModel):
    number: int = 2

    def double(self) -> int:
        return 2 * self.number

    doubled: ClassVar[FormerName] = FormerName("double")


class New(Base):
    def double(self) -> int:
        return super().double() + 1


def old_class() -> type[Base]:
    with pytest.warns(DeprecationWarning, match=r"Old\.doubled is now Old\.double; version 0\.2 removes the old name"):

        class Old(Base):
            def doubled(self) -> int:  # type: ignore[override]
                return super().doubled() + 10  # type: ignore[no-any-return]

    return Old


def test_a_former_name_gives_what_the_new_name_gives_with_a_warning() -> None:
    for model, expected in ((Base(), 4), (New(), 5)):
        with pytest.warns(DeprecationWarning, match=r"Base\.doubled is now Base\.double"):
            assert model.doubled() == expected
    with pytest.warns(DeprecationWarning, match="Base.doubled"):
        assert New.doubled is New.double
    assert set(Base.model_fields) == {"number"}


def test_a_method_by_the_former_name_overrides_the_new_name() -> None:
    old = old_class()(number=3)
    with pytest.warns(DeprecationWarning, match="Base.doubled"):
        assert old.double() == 16

    with pytest.warns(DeprecationWarning, match="Base.doubled"):
        assert old.doubled() == 16

    class Newer(old_class()):  # type: ignore[misc]
        def double(self) -> int:
            return 1

    assert Newer().double() == 1


def test_a_former_name_of_a_property() -> None:
    class Plain:
        @property
        def reason(self) -> str:
            return "because"

        reasoned = FormerName("reason")

    with pytest.warns(DeprecationWarning, match=r"Plain\.reasoned is now Plain\.reason"):
        assert Plain().reasoned == "because"
