/** Limits the requests in flight and accounts for the memory that they hold. */
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
