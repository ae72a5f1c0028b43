'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

const write = (value, style) => yaml.dump(value, { styles: { '!!int': style } })

test('the minus stands in front', () => {
  assert.strictEqual(write(-255, 'hexadecimal'), '-0xFF\n')
  assert.strictEqual(write(-1, 'hexadecimal'), '-0x1\n')
  assert.strictEqual(write(-8, 'octal'), '-0o10\n')
  assert.strictEqual(write(-7, 'octal'), '-0o7\n')
  assert.strictEqual(write(-5, 'binary'), '-0b101\n')
  assert.strictEqual(write(-12, 'decimal'), '-12\n')
})

test('no minus', () => {
  assert.strictEqual(write(255, 'hexadecimal'), '0xFF\n')
  assert.strictEqual(write(0, 'hexadecimal'), '0x0\n')
  assert.strictEqual(write(8, 'octal'), '0o10\n')
  assert.strictEqual(write(0, 'octal'), '0o0\n')
})

test('read back', () => {
  for (const style of ['binary', 'octal', 'decimal', 'hexadecimal']) {
    for (const value of [-4096, -17, -1, 0, 1, 171]) assert.strictEqual(yaml.load(write(value, style)), value)
  }
})
