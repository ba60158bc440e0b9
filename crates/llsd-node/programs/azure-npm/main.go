// Azure's network policy manager, which enforces NetworkPolicies by iptables and ipset: azure-npm KUBECONFIG NODE.
// Its own main would first spend three minutes on telemetry that it cannot send.
package main

import (
	"os"
	"time"

	"github.com/Azure/azure-container-networking/common"
	"github.com/Azure/azure-container-networking/npm"
	npmconfig "github.com/Azure/azure-container-networking/npm/config"
	"github.com/Azure/azure-container-networking/npm/metrics"
	"github.com/Azure/azure-container-networking/npm/pkg/dataplane"
	"github.com/Azure/azure-container-networking/npm/pkg/dataplane/ipsets"
	"github.com/Azure/azure-container-networking/npm/pkg/dataplane/policies"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog"
	"k8s.io/utils/exec"
)

func main() {
	kubeconfig, node := os.Args[1], os.Args[2]
	metrics.InitializeAll()
	settings, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	orEnd(err)
	client, err := kubernetes.NewForConfig(settings)
	orEnd(err)
	version, err := client.Discovery().ServerVersion()
	orEnd(err)

	config := npmconfig.DefaultConfig
	rules, err := dataplane.NewDataPlane(node, common.NewIOShim(), &dataplane.Config{
		IPSetManagerCfg: &ipsets.IPSetManagerCfg{IPSetMode: ipsets.ApplyAllIPSets},
		PolicyManagerCfg: &policies.PolicyManagerCfg{
			PolicyMode:           policies.IPSetPolicyMode,
			PlaceAzureChainFirst: config.Toggles.PlaceAzureChainFirst,
		},
	}, wait.NeverStop)
	orEnd(err)
	rules.RunPeriodicTasks()
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	manager := npm.NewNetworkPolicyManager(config, factory, rules, exec.New(), "", version)
	orEnd(manager.Start(config, wait.NeverStop))
	select {}
}

func orEnd(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}
