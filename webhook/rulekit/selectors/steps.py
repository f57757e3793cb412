"""What may still be done, in one review, to say what would help."""

from __future__ import annotations

from typing import Final

from webhook.cel import Outcome, Selector
from webhook.model.device import Device

#: Steps for all hints of a review, some 60 milliseconds: beyond, mistakes are not explained any further.
MOST_STEPS: Final = 200_000
#: Selectors that are written anew in one review: each is compiled, and tried on a device.
MOST_TEXTS: Final = 8


class Steps:
    """The steps that are left, and the selectors that may still be written anew."""

    __slots__ = ("left", "texts")

    def __init__(self, most: int = MOST_STEPS, texts: int = MOST_TEXTS) -> None:
        self.left = most
        self.texts = texts

    def tried(self, selector: Selector, device: Device) -> Outcome | None:
        """What a selector says of a device; None when there are not enough steps to find out."""
        outcome, taken = selector.tried(device, self.left)
        self.left = max(self.left - taken, 0)
        return outcome

    def takes_text(self) -> bool:
        """Whether one more selector may be written anew; it is then taken off."""
        self.texts -= 1
        return self.texts >= 0
