"""Puts the files of a directory into a bucket, by the providers' own libraries.

upload.py s3|gs|abfs ENDPOINT BUCKET DIR [again KEY]   (again writes one object once more, with other bytes of its length)
"""
import os
import sys
import urllib.parse
import urllib.request

kind, endpoint, bucket, directory = sys.argv[1:5]
again = sys.argv[6] if len(sys.argv) > 6 else None


def files():
    for root, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                yield os.path.relpath(path, directory), f.read()


if kind == "s3":
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    if again is None:
        client.create_bucket(Bucket=bucket)
    put = lambda key, data: client.put_object(Bucket=bucket, Key=key, Body=data)
elif kind == "abfs":
    from azure.storage.blob import BlobServiceClient

    service = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
    container = service.get_container_client(bucket)
    if again is None:
        container.create_container()
    put = lambda key, data: container.upload_blob(key, data, overwrite=True)
else:
    def post(path, data, content):
        r = urllib.request.Request(endpoint + path, data=data, headers={"Content-Type": content})
        urllib.request.urlopen(r).read()

    if again is None:
        post("/storage/v1/b", b'{"name": "%s"}' % bucket.encode(), "application/json")
    put = lambda key, data: post(
        f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={urllib.parse.quote(key, safe='')}", data, "text/csv")

if again is not None:
    with open(os.path.join(directory, again), "rb") as f:
        put(again, f.read().replace(b"1", b"2"))
    sys.exit()
placed = set()
for key, data in files():
    put(key, data)
    above = os.path.dirname(key)
    if kind != "abfs" and above and above not in placed and len(placed) < 5:
        placed.add(above)
        put(above + "/", b"")  # what consoles make of a new folder
