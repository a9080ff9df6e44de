"""Verifies an ID token with PyJWT.

argv: the address of the issuer, the audience, and the token. The last line on standard output is "RESULT " and JSON.
"""

import json
import sys
import urllib.request

import jwt

issuer, audience, token = sys.argv[1:]
with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration") as response:
    configuration = json.load(response)
client = jwt.PyJWKClient(configuration["jwks_uri"])
key = client.get_signing_key_from_jwt(token)
algorithms = configuration["id_token_signing_alg_values_supported"]
claims = jwt.decode(token, key.key, algorithms=algorithms, audience=audience, issuer=issuer)
refused = []
for wrong in ({"audience": "other", "issuer": issuer}, {"audience": audience, "issuer": "https://other.example"}):
    try:
        jwt.decode(token, key.key, algorithms=algorithms, **wrong)
    except jwt.InvalidTokenError as error:
        refused.append(type(error).__name__)
print("\nRESULT " + json.dumps({"claims": claims, "refused": refused}))
