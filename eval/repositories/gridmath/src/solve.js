'use strict';

const { Matrix } = require('./matrix');

const TINY = 1e-12;

// Lists in a triangle, and the sign that swapping rows left; null if there is no way.
function eliminate(lists, size) {
  let sign = 1;
  for (let c = 0; c < size; c += 1) {
    let pivot = c;
    for (let r = c + 1; r < size; r += 1) {
      if (Math.abs(lists[r][c]) > Math.abs(lists[pivot][c])) pivot = r;
    }
    if (Math.abs(lists[pivot][c]) < TINY) return null;
    if (pivot !== c) {
      [lists[pivot], lists[c]] = [lists[c], lists[pivot]];
      sign = -sign;
    }
    for (let r = c + 1; r < size; r += 1) {
      const factor = lists[r][c] / lists[c][c];
      for (let at = c; at < lists[r].length; at += 1) lists[r][at] -= factor * lists[c][at];
    }
  }
  return { lists, sign };
}

function square(matrix) {
  if (matrix.rows !== matrix.columns) throw new RangeError('not a square matrix');
  return matrix.rows;
}

function determinant(matrix) {
  const size = square(matrix);
  const done = eliminate(matrix.toLists(), size);
  if (!done) return 0;
  return done.lists.reduce((product, list, at) => product * list[at], done.sign);
}

// The column x for which matrix * x = right.
function solve(matrix, right) {
  const size = square(matrix);
  if (right.rows !== size || right.columns !== 1) throw new RangeError('the right side must be one column of the same height');
  const done = eliminate(matrix.toLists().map((list, r) => [...list, right.get(r, 0)]), size);
  if (!done) throw new RangeError('no single solution');
  const x = new Array(size).fill(0);
  for (let r = size - 1; r >= 0; r -= 1) {
    let sum = done.lists[r][size];
    for (let c = r + 1; c < size; c += 1) sum -= done.lists[r][c] * x[c];
    x[r] = sum / done.lists[r][r];
  }
  return Matrix.of(x.map((value) => [value]));
}

module.exports = { determinant, solve };
