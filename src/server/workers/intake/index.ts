export { type Intake, openIntake } from "./intake.ts";
export type { IntakeAddress, RecordSummary } from "./intake-protocol.ts";
export { receiveRecords } from "./receive-records.ts";
export { connectIntake, sendDecisions } from "./send-records.ts";
