"""Checks a provenance statement by the definitions of in-toto and SLSA: `python check-provenance.py FILE`.

Fails for an unknown member, a value of another type, or a missing one that is required. Prints the number of dependencies.
"""

import json
import sys

from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

with open(sys.argv[1], encoding="utf-8") as file:
    text = json.load(file)

statement = json_format.ParseDict(text, statement_pb2.Statement())
Statement.copy_from_pb(statement).validate()
provenance = json_format.ParseDict(text["predicate"], provenance_pb2.Provenance())
definition = provenance.build_definition
if not definition.build_type or not definition.external_parameters or not provenance.run_details.builder.id:
    sys.exit("buildType, externalParameters and builder.id are required")
for resource in definition.resolved_dependencies:
    if not resource.digest:
        sys.exit(f"no digest of {resource}")
print(len(definition.resolved_dependencies))
