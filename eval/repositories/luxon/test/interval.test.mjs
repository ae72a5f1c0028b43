import test from 'node:test';
import assert from 'node:assert';
import { DateTime, Interval, Settings } from '../src/luxon.js';

Settings.defaultZone = 'utc';
const days = (from, to) => Interval.fromDateTimes(DateTime.local(2024, 1, from), DateTime.local(2024, 1, to));
const shown = (intervals) => intervals.map((one) => `${one.start.day}-${one.end.day}`);

test('reads ISO 8601', () => {
  assert.strictEqual(Interval.fromISO('2024-01-01/2024-01-03').length('days'), 2);
  assert.strictEqual(Interval.fromISO('2024-01-01/P2D').end.day, 3);
  assert.strictEqual(Interval.fromISO('P2D/2024-01-03').start.day, 1);
  for (const text of ['', '2024-01-01', 'x/y', '2024-01-03/2024-01-01', 'P1D/P1D']) assert.strictEqual(Interval.fromISO(text).isValid, false, text);
});

test('compares', () => {
  assert.ok(days(1, 5).overlaps(days(4, 6)));
  assert.ok(!days(1, 5).overlaps(days(5, 6)));
  assert.ok(days(1, 5).abutsStart(days(5, 6)));
  assert.ok(days(1, 5).engulfs(days(2, 3)));
});

test('merges, parts and counts', () => {
  assert.deepStrictEqual(shown(Interval.merge([days(7, 9), days(1, 3), days(2, 5)])), ['1-5', '7-9']);
  assert.deepStrictEqual(shown(Interval.xor([days(1, 5), days(3, 8)])), ['1-3', '5-8']);
  assert.deepStrictEqual(shown(days(1, 9).difference(days(2, 3), days(5, 6))), ['1-2', '3-5', '6-9']);
  assert.deepStrictEqual(shown(days(1, 6).splitBy({ days: 2 })), ['1-3', '3-5', '5-6']);
  assert.strictEqual(days(1, 6).count('days'), 5);
});
