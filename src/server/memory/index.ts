/** Limits the requests in flight and accounts for the memory that they hold. */
export { type Admission, type AdmissionUsage, createAdmission, DEFAULT_ADMISSION, NO_USAGE } from "./admission.ts";
export { BodyBuffer } from "./body-buffer.ts";
export { estimateParsingBytes } from "./reading.ts";
export { fittingBufferedBytes, maxUnusedBytesOf, setMaxUnusedBytes } from "./region.ts";
export { type Account, RequestMemory } from "./request-memory.ts";
