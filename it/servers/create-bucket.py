"""Creates the bucket of the environment with one signed request: GRANARY_TEST_S3_ENDPOINT, GRANARY_TEST_S3_BUCKET, AWS_*."""
import datetime
import hashlib
import hmac
import os
import urllib.request

region, secret = os.environ['AWS_REGION'], os.environ['AWS_SECRET_ACCESS_KEY']
host = os.environ['GRANARY_TEST_S3_ENDPOINT'].removeprefix('http://')
path = '/' + os.environ['GRANARY_TEST_S3_BUCKET']
time = datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
scope = f'{time[:8]}/{region}/s3/aws4_request'
empty = hashlib.sha256().hexdigest()


def mac(key, text):
    return hmac.new(key, text.encode(), 'sha256')


names = 'host;x-amz-content-sha256;x-amz-date'
canonical = f'PUT\n{path}\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{time}\n\n{names}\n{empty}'
key = ('AWS4' + secret).encode()
for part in scope.split('/'):
    key = mac(key, part).digest()
signature = mac(key, f'AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}').hexdigest()
request = urllib.request.Request('http://' + host + path, method='PUT', headers={
    'x-amz-date': time,
    'x-amz-content-sha256': empty,
    'Authorization': f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={names}, Signature={signature}",
})
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20)
