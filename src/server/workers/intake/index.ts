export { type Intake, openIntake } from "./intake.ts";
export type { IntakeAddress, Recorded } from "./intake-protocol.ts";
export { takeRecords } from "./receive-records.ts";
export { connectIntake, sendDecisions } from "./send.ts";
