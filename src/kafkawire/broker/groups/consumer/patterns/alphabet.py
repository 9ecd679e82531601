"""Sets of the characters that the matched names can have, as bit masks.

Rules:
- An alphabet has the characters that occur in the names: 65 for topics, and those in use for transactional ids. A class
  of a regular expression is the set of those that it contains, so that Unicode needs no tables here.
- Python knows no scripts of Unicode. A letter's script is the first word of its name, and characters of ASCII are Latin
  (letters) or Common. Names of scripts that RE2/J does not know are refused.
- Characters are equal without regard to case if one is the lower or upper form of the other. The long s, the Kelvin
  sign and the Angstrom sign equal a letter.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDS_TO: Final = {"\u017f": "s", "\u212a": "k", "\u212b": "\u00e5"}
_CONTROL: Final = "".join(map(chr, range(32))) + "\x7f"
_PERL: Final = {"d": digits, "s": "\t\n\f\r ", "w": ascii_letters + digits + "_"}
_POSIX: Final = {
    "alnum": ascii_letters + digits,
    "alpha": ascii_letters,
    "ascii": "".join(map(chr, range(128))),
    "blank": " \t",
    "cntrl": _CONTROL,
    "digit": digits,
    "graph": ascii_letters + digits + punctuation,
    "lower": ascii_lowercase,
    "print": ascii_letters + digits + punctuation + " ",
    "punct": punctuation,
    "space": "\t\n\v\f\r ",
    "upper": ascii_uppercase,
    "word": ascii_letters + digits + "_",
    "xdigit": digits + "abcdefABCDEF",
}
# fmt: off
_CATEGORIES: Final = frozenset((
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
))
# fmt: on

# fmt: off
_SCRIPTS: Final = frozenset((
    "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bopomofo", "Brahmi", "Braille",
    "Buginese", "Buhid", "Canadian_Aboriginal", "Carian", "Cham", "Cherokee", "Common", "Coptic", "Cuneiform",
    "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Egyptian_Hieroglyphs", "Ethiopic", "Georgian",
    "Glagolitic", "Gothic", "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hebrew", "Hiragana",
    "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi",
    "Kannada", "Katakana", "Kayah_Li", "Kharoshthi", "Khmer", "Lao", "Latin", "Lepcha", "Limbu", "Linear_B",
    "Lisu", "Lycian", "Lydian", "Malayalam", "Mandaic", "Meetei_Mayek", "Mongolian", "Myanmar", "New_Tai_Lue",
    "Nko", "Ogham", "Ol_Chiki", "Old_Italic", "Old_Persian", "Old_South_Arabian", "Old_Turkic", "Oriya",
    "Osmanya", "Phags_Pa", "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Shavian", "Sinhala",
    "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Tamil",
    "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Ugaritic", "Unknown", "Vai", "Yi",
))
# fmt: on


class Alphabet:
    """The characters of names.

    >>> letters = Alphabet("abB")
    >>> letters.mask_of_range(ord("b"), ord("z")) == letters.mask_of("b")
    True
    >>> letters.folded(letters.mask_of("b")) == letters.mask_of("bB")
    True
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = "".join(sorted(set(symbols)))
        self.places: Final = {symbol: place for place, symbol in enumerate(self.symbols)}
        self._points = [ord(symbol) for symbol in self.symbols]
        self.all: Final = (1 << len(self.symbols)) - 1
        self.perl: Final = {name: self.mask_of(symbols) for name, symbols in _PERL.items()}
        self.posix: Final = {name: self.mask_of(symbols) for name, symbols in _POSIX.items()}
        self.word: Final = self.perl["w"]
        self._orbits = {symbol: _orbit(symbol) for symbol in self.symbols}
        self._folded: dict[int, int] = {}
        self._folded_ranges: dict[tuple[int, int], int] = {}

    def mask_of(self, symbols: Iterable[str]) -> int:
        """The mask of those characters that a name can have."""
        found = 0
        for symbol in symbols:
            if symbol in self.places:
                found |= 1 << self.places[symbol]
        return found

    def mask_of_range(self, low: int, high: int) -> int:
        """The mask of a range of code points."""
        first, end = bisect_left(self._points, low), bisect_right(self._points, high)
        return (1 << end) - (1 << first) if first < end else 0

    def folded(self, mask: int) -> int:
        """A mask without regard to case."""
        found = self._folded.get(mask)
        if found is None:
            named = {
                form for symbol, place in self.places.items() if mask >> place & 1 for form in self._orbits[symbol]
            }
            found = self._folded[mask] = self.mask_of(map(chr, named))
        return found

    def folded_range(self, low: int, high: int) -> int:
        """The mask of a range of code points, without regard to case."""
        found = self._folded_ranges.get((low, high))
        if found is None:
            equal = (symbol for symbol, orbit in self._orbits.items() if any(low <= form <= high for form in orbit))
            found = self._folded_ranges[low, high] = self.mask_of(equal)
        return found

    def mask_of_property(self, name: str) -> int | None:
        """The mask of a category or script of Unicode; None if there is no such name."""
        if name == "Any":
            return self.all
        if name in _CATEGORIES:
            return self.mask_of(each for each in self.symbols if unicodedata.category(each).startswith(name))
        if name in _SCRIPTS:
            return self.mask_of(each for each in self.symbols if _script(each) == name)
        return None


def _orbit(symbol: str) -> frozenset[int]:
    """The code points that equal a character without regard to case."""
    forms = {symbol, symbol.lower(), symbol.upper(), _FOLDS_TO.get(symbol, symbol)}
    forms |= {each.upper() for each in forms} | {each.lower() for each in forms}
    forms |= {sign for sign, letter in _FOLDS_TO.items() if letter in forms}
    return frozenset(ord(each) for each in forms if len(each) == 1)


def _script(symbol: str) -> str:
    if symbol.isascii():
        return "Latin" if symbol.isalpha() else "Common"
    first = unicodedata.name(symbol, "").split(" ")[0]
    return "Han" if first == "CJK" else first.title()


TOPIC_NAMES: Final = Alphabet(ascii_letters + digits + "._-")
