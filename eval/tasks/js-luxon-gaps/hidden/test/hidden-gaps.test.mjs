import test from 'node:test';
import assert from 'node:assert';
import { DateTime, Interval, Settings } from '../src/luxon.js';

Settings.defaultZone = 'utc';
const days = (from, to) => Interval.fromDateTimes(DateTime.local(2024, 1, from), DateTime.local(2024, 1, to));
const shown = (intervals) => intervals.map((one) => `${one.start.day}-${one.end.day}`);

test('what nothing covers', () => {
  assert.deepStrictEqual(shown(Interval.gaps([days(8, 9), days(1, 3), days(5, 6)])), ['3-5', '6-8']);
  assert.deepStrictEqual(shown(Interval.gaps([days(1, 9), days(2, 3), days(11, 12)])), ['9-11']);
});

test('none', () => {
  assert.deepStrictEqual(Interval.gaps([]), []);
  assert.deepStrictEqual(Interval.gaps([days(1, 3)]), []);
  assert.deepStrictEqual(Interval.gaps([days(3, 5), days(1, 3), days(4, 9)]), []);
});

test('the array stays as it is', () => {
  const given = [days(8, 9), days(1, 3), days(5, 6)];
  const copy = [...given];
  const frozen = Object.freeze(given);
  Interval.gaps(frozen);
  assert.deepStrictEqual(shown(given), shown(copy));
});

test('Intervals come out', () => {
  const [gap] = Interval.gaps([days(1, 2), days(4, 5)]);
  assert.ok(Interval.isInterval(gap) && gap.isValid);
  assert.strictEqual(gap.length('days'), 2);
});
