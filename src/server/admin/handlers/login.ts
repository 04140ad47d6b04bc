/** Sign-in settings for command-line clients: public, since the client has no credential yet. */

import type { Handlers } from "../handler-types.ts";
import { refusal } from "../refusal.ts";

export const loginHandlers: Pick<Handlers, "get_login"> = {
  get_login(_call, { logins }) {
    if (logins.length === 0) {
      throw refusal("not_found", "Signing in is not possible: the node file sets no `admin.issuers[].login`.");
    }
    return { value: { issuers: logins } };
  },
};
