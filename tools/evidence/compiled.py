"""The `DYN_` string literals of the compiled runtime (`_core.abi3.so`, ELF for x86-64).

Rust keeps its literals end to end without separators, so where one ends is known only to the code that uses it. A
literal is used as a pair of address and length: either in a table, where a relocation holds the address and the next
word the length, or in code, where `lea reg, [rip + address]` stands beside `mov reg, length`. Both are read here. A
literal whose use was not found ends at the next `DYN_` or at the end of its run of capitals, and is left out if it
continues a known one without `_`.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator

RUN = re.compile(rb"DYN_(?:(?!DYN_)[A-Z0-9_])*")
# lea r64, [rip + disp32]; a lookahead, because the bytes of one can begin inside another.
LEA = re.compile(rb"(?=\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL)
# mov r32, imm32 with a value below 256
MOV = re.compile(rb"[\xb8-\xbf](.)\0\0\0", re.DOTALL)
NEAR = 24  # bytes of code around a `lea` in which the length is set
LONGEST = 96
R_X86_64_RELATIVE = 8
SHT_NOBITS = 8


class Image:
    """An ELF file: its sections, and the way from addresses to file offsets."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        start, count, names = *struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<HH", data, 0x3C)
        headers = [struct.unpack_from("<IIQQQQ", data, start + 64 * index) for index in range(count)]
        table = headers[names][4]
        # name -> (address, offset, size)
        self.sections = {
            data[table + name : data.index(b"\0", table + name)].decode(): (address, offset, size)
            for name, kind, _, address, offset, size in headers
            if kind != SHT_NOBITS
        }

    def offset(self, address: int) -> int:
        """File offset of an address of a loaded section, or -1."""
        for start, offset, size in self.sections.values():
            if start and start <= address < start + size:
                return address - start + offset
        return -1

    def address(self, offset: int) -> int:
        """Address of a file offset of a loaded section, or -1."""
        for address, start, size in self.sections.values():
            if address and start <= offset < start + size:
                return offset - start + address
        return -1


def literals(data: bytes, named: frozenset[str]) -> frozenset[str]:
    """Every `DYN_` literal. One that ends in `_` is a beginning that the runtime completes.

    `named` are names known from elsewhere (the Python sources); they settle where a literal ends, and add none. A very
    short literal can be missing, because the compiler may write it into the code itself.
    """
    image = Image(data)
    runs = {image.address(run.start()): run for run in RUN.finditer(data)}
    runs.pop(-1, None)
    lengths: dict[int, Counter[int]] = {address: Counter() for address in runs}
    for address, length in (*_tables(image, lengths), *_code(image, lengths)):
        if len(b"DYN_") < length < LONGEST and _is_name(image, address, length):
            lengths[address][length] += 1
    known, guessed = set(), set()
    texts = {address: run.group().decode() for address, run in runs.items() if lengths[address]}
    for address, run in runs.items():
        if lengths[address]:
            # A stray constant gives a shorter or rarer end than the real length.
            _, end = max((count, length) for length, count in lengths[address].items())
            known.add(data[run.start() : run.start() + end].decode())
        else:
            guessed.add(run.group().decode())
    # Where a whole name that is known from elsewhere stands, a shorter end was a stray constant.
    known |= named
    whole = {max((name for name in known if run.startswith(name)), key=len) for run in texts.values()}
    guessed = {name for name in guessed if not any(_continues(name, other) for other in known | guessed)}
    return frozenset((whole | guessed) - {"DYN_"})


def _continues(name: str, other: str) -> bool:
    return name != other and name.startswith(other) and "_" not in {name[len(other)], other[-1]}


def _is_name(image: Image, address: int, length: int) -> bool:
    start = image.offset(address)
    return bool(RUN.fullmatch(image.data[start : start + length]))


def _tables(image: Image, wanted: dict[int, Counter[int]]) -> Iterator[tuple[int, int]]:
    _, offset, size = image.sections[".rela.dyn"]
    for place, info, address in struct.iter_unpack("<QQq", image.data[offset : offset + size]):
        if info == R_X86_64_RELATIVE and address in wanted:
            yield address, struct.unpack_from("<Q", image.data, image.offset(place) + 8)[0]


def _code(image: Image, wanted: dict[int, Counter[int]]) -> Iterator[tuple[int, int]]:
    start, offset, size = image.sections[".text"]
    for found in LEA.finditer(image.data, offset, offset + size):
        end = found.end(1)
        target = start + end - offset + int.from_bytes(found.group(1), "little", signed=True)
        if target in wanted:
            after = MOV.search(image.data, end, end + NEAR)
            before = list(MOV.finditer(image.data, found.start() - NEAR, found.start()))
            # The registers of a pair are set in either order; the nearer one after comes first in practice.
            for length in (after, *before[-1:]):
                if length:
                    yield target, length.group(1)[0]
