/** Whether an agent is asked to post its results to somewhere. Source: a2a reference, 3 and 7. */
import { isNothing, memberOf, type Placed } from "../../dialects/index.ts";

const CREATING: ReadonlySet<string> = new Set(["CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"]);
const SENDING: ReadonlySet<string> = new Set(["SendMessage", "SendStreamingMessage", "message/send", "message/stream"]);
/** As 1.0 has it, and as 0.3; without what lax readers do without. */
const CONFIGURATIONS: ReadonlySet<string> = new Set(["taskpushnotificationconfig", "pushnotificationconfig"]);

/** `source`: of which `params` are placed. */
export function asksForPush(source: string, method: string, params: Placed | undefined): boolean {
  if (CREATING.has(method)) return true;
  const configuration = SENDING.has(method) ? memberOf(params, "configuration") : undefined;
  if (configuration?.kind !== "object") return false;
  return configuration.members.some(
    ({ name, value }) => CONFIGURATIONS.has(name.toLowerCase().replaceAll("_", "")) && !isNothing(source, value),
  );
}
