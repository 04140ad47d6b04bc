/** `auth`: accepted credentials of data-plane callers. Spec: document 3, `auth`. If absent, callers are anonymous. */

import { choice, flag, list, object, orEmpty, required, text, withDefault } from "../schema.ts";
import { filled } from "./terms.ts";

const selection = object("Chooses the profile by a claim of the token.", {
  claim: required(
    filled("Claim that is read, a string or a list, such as `groups` or `sub`; it must be one the issuer assigns."),
  ),
  trust_claim: withDefault(
    flag("Allows a claim that callers can usually set themselves, such as `email`; asserts that here they cannot."),
    false,
  ),
  select: required(
    list(
      "Ordered choices; the first whose value the claim carries decides.",
      object("One value of the claim and the profile it gives.", {
        value: required(filled("Value of the claim, compared exactly.")),
        profile: required(filled("Name of the profile.")),
      }),
      { minItems: 1 },
    ),
  ),
});

const issuer = object("One issuer whose tokens are accepted on the data plane.", {
  issuer: required(filled("Entry of the node file's `issuers`.")),
  audience: required(filled("What the token's `aud` must name; not the audience of the admin API.")),
  subject: required(choice("Whether the token's subject is an `agent` or a `user`.", ["agent", "user"])),
  profile: orEmpty(
    text("Profile of this issuer's callers where `profiles` selects none; left out or empty, no profile."),
  ),
  profiles: selection,
});

export const auth = object(
  "Who may call: with this section every request needs a credential that one of its sources recognises; without it the data plane is anonymous.",
  {
    virtual_keys: withDefault(
      flag("Accepts keys minted by the admin API; off, they are refused like any unknown credential."),
      false,
    ),
    issuers: withDefault(list("Issuers whose JWTs are accepted.", issuer), []),
  },
);
