/** View of the A2A agents behind the gateway. */

import { callsView } from "./called-servers.ts";

export const a2aView = callsView({
  id: "a2a",
  aliases: ["agents", "a2a_agents"],
  title: "A2A agents",
  about: "A2A agents as the nodes saw them in the last minute: state, calls, errors",
  table: "a2a_agents",
  many: "A2A agents",
});
