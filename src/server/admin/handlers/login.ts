/** Sign-in settings for command-line clients: public, since the client has no credential yet. */

import type { Handlers } from "../handler.ts";
import { refusal } from "../refusal.ts";

export const loginHandlers: Pick<Handlers, "get_login"> = {
  get_login(_call, { logins }) {
    if (logins.length === 0) {
      throw refusal(
        "not_found",
        "There is no way to sign in here: no `admin.issuers[].login` is set in the node file.",
      );
    }
    return { value: { issuers: logins } };
  },
};
