"""A program of an integrator's in Python, with what the generators make of the document (stock model)."""
import json
import os

from stock_client import AuthenticatedClient, Client
from stock_client.api.dyn_item import create_dyn_item, get_dyn_item, list_dyn_item
from stock_client.api.token import request_token
from stock_client.models import CreateDynItemInput, RequestTokenInput
import stock_models

base_url, headers = os.environ["BASE_URL"], {"X-Tenant": os.environ["TENANT"]}

wanted = RequestTokenInput.from_dict(
    {
        "grant_type": "client_credentials",
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
    }
)
with Client(base_url=base_url, headers=headers, raise_on_unexpected_status=True) as client:
    token = request_token.sync(client=client, body=wanted).access_token

with AuthenticatedClient(base_url=base_url, headers=headers, token=token, raise_on_unexpected_status=True) as client:
    made = create_dyn_item.sync(client=client, body=CreateDynItemInput(external_id="PY-1", name="Coffee")).data
    listed = list_dyn_item.sync(client=client, filtername="coffee", sort="-updated_at").data
    # An admin has added a field to the table since the client was generated.
    answer = get_dyn_item.sync_detailed(made.id, client=client)
record = answer.parsed.data
model = stock_models.GetDynItemAnswer.model_validate_json(answer.content).data

print(
    json.dumps(
        {
            "id": str(made.id),
            "brand": made.brand_name,
            "listed": [item.name for item in listed],
            "added": record.additional_properties,
            "model": [str(model.id), model.name],
        }
    )
)
