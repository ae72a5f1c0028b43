'use strict';

class Matrix {
  constructor(rows, columns, values) {
    this.rows = rows;
    this.columns = columns;
    this.values = values;
    Object.freeze(this);
  }

  static of(lists) {
    const rows = lists.length;
    const columns = rows ? lists[0].length : 0;
    if (lists.some((list) => list.length !== columns)) throw new RangeError('rows of different lengths');
    return new Matrix(rows, columns, Float64Array.from(lists.flat()));
  }

  static build(rows, columns, make) {
    const values = new Float64Array(rows * columns);
    for (let r = 0; r < rows; r += 1) {
      for (let c = 0; c < columns; c += 1) values[r * columns + c] = make(r, c);
    }
    return new Matrix(rows, columns, values);
  }

  static identity(size) {
    return Matrix.build(size, size, (r, c) => (r === c ? 1 : 0));
  }

  get(row, column) {
    if (row < 0 || row >= this.rows || column < 0 || column >= this.columns) throw new RangeError('outside of the matrix');
    return this.values[row * this.columns + column];
  }

  toLists() {
    return Array.from({ length: this.rows }, (_, r) => Array.from(this.values.slice(r * this.columns, (r + 1) * this.columns)));
  }

  equals(other, epsilon = 1e-9) {
    return (
      this.rows === other.rows &&
      this.columns === other.columns &&
      this.values.every((value, at) => Math.abs(value - other.values[at]) <= epsilon)
    );
  }

  add(other) {
    if (this.rows !== other.rows || this.columns !== other.columns) throw new RangeError('matrices of different sizes');
    return Matrix.build(this.rows, this.columns, (r, c) => this.get(r, c) + other.get(r, c));
  }

  scale(factor) {
    return Matrix.build(this.rows, this.columns, (r, c) => this.get(r, c) * factor);
  }

  transpose() {
    return Matrix.build(this.columns, this.rows, (r, c) => this.get(c, r));
  }

  multiply(other) {
    if (this.columns !== other.rows) throw new RangeError(`${this.columns} columns times ${other.rows} rows`);
    return Matrix.build(this.rows, other.columns, (r, c) => {
      let sum = 0;
      for (let at = 0; at < this.columns; at += 1) sum += this.get(r, at) * other.get(at, c);
      return sum;
    });
  }

  determinant() {
    return require('./solve').determinant(this);
  }
}

module.exports = { Matrix };
