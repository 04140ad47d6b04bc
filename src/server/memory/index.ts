/** How much may be under way at once, and what is held for it. */
export {
  type Admission,
  type AdmissionLimits,
  createAdmission,
  DEFAULT_ADMISSION,
  type Held,
  NOTHING_HELD,
} from "./admission.ts";
export { Gathering } from "./gathering.ts";
export { type Account, Holding } from "./holding.ts";
export { readingBytes } from "./reading.ts";
