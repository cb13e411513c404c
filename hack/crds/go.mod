module stator/hack/crds

go 1.26.0

require (
	github.com/ai-dynamo/grove/operator/api v0.1.0-alpha.8
	sigs.k8s.io/gateway-api-inference-extension v1.0.0
	sigs.k8s.io/lws v0.8.0
)
