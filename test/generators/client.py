"""A program of an integrator's in Python, with what the generators make of the document (stock model)."""
import json
import os

from stock_client import AuthenticatedClient, Client
from stock_client.api.assets import create_record, get_record, list_records, update_record
from stock_client.api.token import request_token
from stock_client.models import (
    CreateDynItemInput,
    CreateDynStockOrderInput,
    DynItem,
    RequestTokenBody,
    TableName,
    UpdateDynStockOrderInput,
)

base_url, headers = os.environ["BASE_URL"], {"X-Tenant": os.environ["TENANT"]}

wanted = RequestTokenBody.from_dict(
    {
        "grant_type": "client_credentials",
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
    }
)
with Client(base_url=base_url, headers=headers, raise_on_unexpected_status=True) as client:
    token = request_token.sync(client=client, body=wanted).access_token

items, orders = TableName.DYN_ITEM, TableName.DYN_STOCK_ORDER
with AuthenticatedClient(base_url=base_url, headers=headers, token=token, raise_on_unexpected_status=True) as client:
    made = create_record.sync(items, client=client, body=CreateDynItemInput(external_id="PY-1", name="Coffee")).data
    item = DynItem.from_dict(made.to_dict())
    page = list_records.sync(items, client=client, filtername="coffee", filterexternal_ideq="PY-1", sort="-updated_at")
    # An admin has added a field to the table since the client was generated.
    answer = get_record.sync_detailed(items, made.id, client=client)
    order = create_record.sync(orders, client=client, body=CreateDynStockOrderInput()).data
    status = UpdateDynStockOrderInput.from_dict({"processing_status": "completed"})
    reported = update_record.sync(orders, order.id, client=client, body=status).data

print(
    json.dumps(
        {
            "id": str(made.id),
            "brand": item.brand_name,
            "listed": [record["name"] for record in page.data],
            "total": page.meta.total,
            "added": DynItem.from_dict(answer.parsed.data.to_dict()).additional_properties,
            "status": reported["processing_status"],
        }
    )
)
