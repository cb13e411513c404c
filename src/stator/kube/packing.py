"""Objects of one kind as bytes, a tenth as long as their JSON, which they share most of.

Deflate, with a dictionary made of objects that came before (RFC 1951; zlib's `deflateSetDictionary`): what another
object has said already takes two or three bytes. Dictionaries are never changed, since what was packed with one is
unpacked with it; an object that its dictionary does little for becomes part of the next one, which is for those to
come. That is the more rarely the more objects there have been, so there are no more than a few.
"""

from __future__ import annotations

import zlib

import msgspec

from stator.kube.resources import Json

# Bytes. What stands farther back than the window less 262 bytes is not found again.
_WINDOW_BITS = 14
_DICTIONARY = 12 * 1024
# A smaller memory for hashes than zlib's own is quicker copied.
_HASHES = 6
# What a dictionary does enough for: a name, a uid and a few numbers of its own, or an eighth.
_SHORT = 128
_SHARE = 8

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode


class Packing:
    """Packs and unpacks. The first byte of what is packed is the number of its dictionary."""

    def __init__(self) -> None:
        self._dictionaries = [b""]
        self._prepared: zlib._Compress | None = None  # takes 0.1 MiB: of kinds that have no objects there is none
        self._packed = 0

    def pack(self, value: Json, like: bytes = b"") -> bytes:
        """The value as bytes: `like` itself if that is the same value, and never equal to it otherwise."""
        encoded = _encode(value)
        if like and self._inflated(like) == encoded:
            return like
        number = len(self._dictionaries) - 1
        compressor = self._compressor()
        packed = bytes((number,)) + compressor.compress(encoded) + compressor.flush()
        self._packed += 1
        if len(packed) > max(_SHORT, len(encoded) // _SHARE) and self._packed >= 1 << number:
            self._dictionaries.append((self._dictionaries[number] + encoded)[-_DICTIONARY:])
            self._prepared = None
        return packed

    def unpack(self, packed: bytes) -> Json:
        """The value, the caller's own to change."""
        return _decode(self._inflated(packed))

    def _compressor(self) -> zlib._Compress:
        """A copy of one that has read the last dictionary, which takes longer than a value does."""
        if self._prepared is None:
            method, level, dictionary = zlib.DEFLATED, zlib.Z_DEFAULT_COMPRESSION, self._dictionaries[-1]
            self._prepared = zlib.compressobj(level, method, -_WINDOW_BITS, _HASHES, zdict=dictionary)
        return self._prepared.copy()

    def _inflated(self, packed: bytes) -> bytes:
        dictionary = self._dictionaries[packed[0]]
        return zlib.decompressobj(-_WINDOW_BITS, zdict=dictionary).decompress(packed[1:])
