/** Validates dates within identity numbers. */

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns whether the day exists in the Gregorian calendar; `month` and `day` count from 1. */
export function isDate(year: number, month: number, day: number): boolean {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 && isLeap ? 29 : DAYS[month - 1];
  return last !== undefined && day >= 1 && day <= last;
}

/** Validates a date with a two-digit year in any century, so 29 February is accepted in every fourth year. */
export function isShortDate(year: number, month: number, day: number): boolean {
  return isDate(2000 + year, month, day);
}
