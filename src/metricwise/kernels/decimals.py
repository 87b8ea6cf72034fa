"""Decimal numbers from bytes, equal to those of Python's ``float`` to the last bit.

A number of up to 53 bits and a power of ten up to 10^22 are exact in double arithmetic, so that one operation rounds
their product correctly. For most others the leading 128 bits of a power of five decide (Lemire, *Number Parsing at a
Gigabyte per Second*, 2021). The rest are reported as slow, for the caller to convert.
"""

import math

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.pure_python import allow_overflow

NOT_A_NUMBER, EXACT, SLOW = range(3)

DOT = 46  # the usual decimal point
_PLUS, _MINUS, _ZERO, _NINE, _E = 43, 45, 48, 57, 101
_DIGITS_OF_64_BITS = 19
_LARGEST_EXPONENT = 290  # beyond it, results may be subnormal or infinite
_POWERS_OF_TEN = 10.0 ** np.arange(23)


def _powers_of_five():
    """Return the leading 128 bits of 5^q for every exponent q, those of negative q rounded up."""
    table = np.empty((2 * _LARGEST_EXPONENT + 1, 2), dtype=np.uint64)
    for q in range(-_LARGEST_EXPONENT, _LARGEST_EXPONENT + 1):
        power = 5 ** abs(q)
        length = power.bit_length()
        # Below zero, the power is no power of two, so that the quotient has exactly 128 bits.
        bits = power << 128 >> length if q >= 0 else (1 << (length + 127)) // power + 1
        table[q + _LARGEST_EXPONENT] = bits >> 64, bits & (2**64 - 1)
    return table


_POWERS_OF_FIVE = _powers_of_five()


@kernel
def _product(a, b):
    """Return the high and the low 64 bits of a times b."""
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & low_half, b >> half, b & low_half
    low = a_low * b_low
    middle = a_high * b_low + (low >> half)
    other = a_low * b_high + (middle & low_half)
    return a_high * b_high + (middle >> half) + (other >> half), a * b


@kernel
def _normalise(mantissa):
    """Shift until the highest bit is set; return the number and the shift in bits."""
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if mantissa >> np.uint64(64 - step) == 0:
            mantissa <<= np.uint64(step)
            shift += step
    return mantissa, shift


@allow_overflow
@kernel
def _scale(mantissa, exponent):
    """Return mantissa times ten to the exponent, correctly rounded, or slow if 128 bits do not decide."""
    if exponent < -_LARGEST_EXPONENT or exponent > _LARGEST_EXPONENT - _DIGITS_OF_64_BITS:
        return SLOW, 0.0
    one = np.uint64(1)
    mantissa, shift = _normalise(mantissa)
    row = exponent + _LARGEST_EXPONENT
    high, low = _product(mantissa, _POWERS_OF_FIVE[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(mantissa, _POWERS_OF_FIVE[row, 1])
        low += more
        if more > low:
            high += one
    if low == np.uint64(0xFFFFFFFFFFFFFFFF):
        return SLOW, 0.0
    upper = high >> np.uint64(63)
    dropped = upper + np.uint64(9)
    result = high >> dropped
    if low <= one and result & np.uint64(3) == one and result << dropped == high:
        return SLOW, 0.0  # perhaps half way between two numbers
    result = (result + (result & one)) >> one
    # 217706 / 65536 is the binary logarithm of ten, to the digits that whole exponents need.
    return EXACT, math.ldexp(np.float64(result), int(((217706 * exponent) >> 16) + np.int64(upper) - shift + 11))


@kernel
def read_number(block, at, point):
    """Read a number with this decimal point; return whether it is one, its value if that is exact, and its end."""
    negative = block[at] == _MINUS
    if negative or block[at] == _PLUS:
        at += 1
    mantissa, digits, seen, exponent = np.uint64(0), 0, 0, 0
    fraction = False
    while True:
        byte = block[at]
        if _ZERO <= byte <= _NINE:
            seen += 1
            if digits < _DIGITS_OF_64_BITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(byte - _ZERO)
            digits += mantissa != 0
            exponent -= fraction
        elif byte == point and not fraction:
            fraction = True
        else:
            break
        at += 1
    if seen == 0:
        return NOT_A_NUMBER, 0.0, at
    if byte | 32 == _E:
        power, at = _read_exponent(block, at + 1)
        if at < 0:
            return NOT_A_NUMBER, 0.0, -at
        exponent += power
    if digits > _DIGITS_OF_64_BITS:
        return SLOW, 0.0, at
    kind, value = _round(mantissa, exponent)
    return kind, -value if negative else value, at


@kernel
def _read_exponent(block, at):
    """Read the exponent of a number; return its value and its end, negated if there are no digits."""
    negative = block[at] == _MINUS
    if negative or block[at] == _PLUS:
        at += 1
    start, power = at, np.int64(0)
    while _ZERO <= block[at] <= _NINE:
        power = min(10 * power + (np.int64(block[at]) - _ZERO), np.int64(1_000_000))
        at += 1
    return -power if negative else power, -at if at == start else at


@kernel
def _round(mantissa, exponent):
    """Return mantissa times ten to the exponent, in double arithmetic where both factors are exact."""
    if mantissa == 0:
        return EXACT, 0.0
    if mantissa <= np.uint64(1 << 53) and -22 <= exponent <= 22:
        if exponent < 0:
            return EXACT, np.float64(mantissa) / _POWERS_OF_TEN[-exponent]
        return EXACT, np.float64(mantissa) * _POWERS_OF_TEN[exponent]
    return _scale(mantissa, exponent)
