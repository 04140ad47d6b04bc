/** What must hold within one credential. Spec: document 3, `credentials[]`. */

import type { Problem } from "../../problem.ts";
import type { Check } from "./check.ts";

export const checkCredentials: Check = ({ credentials }, problem) =>
  credentials.flatMap(({ cloudsig, token_exchange: exchange }, at) => {
    const path = ["credentials", at];
    const found: Problem[] = [];
    if (cloudsig?.session_token !== undefined && cloudsig.access_key_id === undefined) {
      found.push(
        problem(
          [...path, "cloudsig", "session_token"],
          "a session token needs `access_key_id` and `secret_access_key`",
        ),
      );
    }
    if (exchange?.grant === "token_exchange" && exchange.audience === undefined && exchange.resource === undefined) {
      found.push(
        problem([...path, "token_exchange"], "the grant `token_exchange` needs an `audience` or a `resource`"),
      );
    }
    if (exchange?.grant === "on_behalf_of" && (exchange.scopes ?? []).length === 0) {
      found.push(problem([...path, "token_exchange"], "the grant `on_behalf_of` needs one of `scopes`, the target's"));
    }
    return found;
  });
