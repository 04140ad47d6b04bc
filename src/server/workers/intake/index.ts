export { takeRecords } from "./connection.ts";
export { type Intake, openIntake } from "./intake.ts";
export type { IntakeAddress, Recorded } from "./protocol.ts";
export { connectIntake, sendDecisions } from "./send.ts";
