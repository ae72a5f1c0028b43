"""Small statistics."""


def average(numbers):
    """The mean of the numbers; 0 where there are none."""
    return sum(numbers) / len(numbers)


def spread(numbers):
    """How far the largest number is from the smallest; 0 where there are none."""
    return max(numbers, default=0) - min(numbers, default=0)
