/**
 * The service with a card detector, in a process of its own: prints its port, ends with its stdin. The first argument
 * is the request mode, the optional second the response mode.
 */
import { nullLog } from "../../../../src/base/index.ts";
import {
  beginInspection,
  type InspectionOptions,
  type InspectorOptions,
  openInspector,
} from "../../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../../src/server/memory/index.ts";
import { countedMetrics, guardOf } from "../../dataplane/support/guards.ts";

const CARDS = { name: "cards", type: "pii", prefilter: "pure", entities: ["CREDIT_CARD", "EMAIL_ADDRESS"] };

const [mode = "streamed", responses] = process.argv.slice(2) as InspectorOptions["mode"][];
const guard = guardOf({
  detectors: [{ ...CARDS, ...(responses && { apply_to: ["user", "output"] }) }],
  rules: [
    { name: "no-mail", action: "deny", when: "'pii/EMAIL_ADDRESS' in labels", message: "No addresses." },
    { name: "mask", action: "redact", select: "a.label == 'CREDIT_CARD'", operator: "replace" },
  ],
  response: { max_body_bytes: 32 << 20 },
});
const using: InspectionOptions = {
  guardrails: () => ({ of: () => guard }) as unknown as ReturnType<InspectionOptions["guardrails"]>,
  inspectsResponses: responses !== undefined,
  sinks: { trail: undefined, metrics: countedMetrics().metrics, log: nullLog },
};
const { port } = await openInspector({
  address: "127.0.0.1:0",
  mode,
  responses,
  maxMessageBytes: 33 << 20,
  account: createAdmission(DEFAULT_ADMISSION),
  maxStreams: 1_000,
  maxQuietMs: 60_000,
  maxSilentMs: 60_000,
  begin: () => ({ maxBodyBytes: 32 << 20, ...beginInspection(using) }),
  observer: { count: () => undefined, countInspection: () => undefined },
  log: nullLog,
});
process.stdout.write(`${port}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
