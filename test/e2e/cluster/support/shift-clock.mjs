/** Loaded by Node before the program of a test: shifts its clock by the milliseconds in this module's own address. */
const shift = Number(new URL(import.meta.url).searchParams.get("ms"));
const trueNow = Date.now;
const TrueDate = Date;

const now = () => trueNow() + shift;

globalThis.Date = class ShiftedDate extends TrueDate {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }
  static now = now;
};
