// crd-cost FILE: what the API server estimates that each validation rule of a CRD costs, by the API
// server's own code; exit code 1 when it would refuse the CRD for it.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

var failed bool

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crd-cost:", err)
		os.Exit(1)
	}
}

func report(cost, limit uint64, what string) {
	fmt.Printf("%10d  %s\n", cost, what)
	if cost > limit {
		fmt.Printf("crd-cost: found %d; allowed: at most %d\n", cost, limit)
		failed = true
	}
}

func walk(path string, schema *apiextensions.JSONSchemaProps, c *validation.CELSchemaContext) {
	if len(schema.XValidations) > 0 {
		info, err := c.TypeInfo()
		check(err)
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true)
		rules, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, base,
			cel.NewExpressionsEnvLoader())
		check(err)
		for i, rule := range rules {
			times := rule.MaxCardinality
			if c.MaxCardinality != nil {
				times = *c.MaxCardinality
			}
			cost := rule.MaxCost * times
			c.TotalCost.ObserveExpressionCost(nil, cost+rule.MessageExpressionMaxCost)
			report(cost, validation.StaticEstimatedCostLimit,
				path+": "+strings.Join(strings.Fields(schema.XValidations[i].Rule), " "))
		}
	}
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		child := schema.Properties[name]
		walk(path+"."+name, &child, c.ChildPropertyContext(&child, name))
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", schema.Items.Schema, c.ChildItemsContext(schema.Items.Schema))
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		child := schema.AdditionalProperties.Schema
		walk(path+".*", child, c.ChildAdditionalPropertiesContext(child))
	}
}

func main() {
	var crd v1.CustomResourceDefinition
	text, err := os.ReadFile(os.Args[1])
	check(err)
	check(yaml.UnmarshalStrict(text, &crd))
	for _, version := range crd.Spec.Versions {
		var schema apiextensions.JSONSchemaProps
		check(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			version.Schema.OpenAPIV3Schema, &schema, nil))
		root := validation.RootCELContext(&schema)
		walk(version.Name, &schema, root)
		report(root.TotalCost.Total, validation.StaticEstimatedCRDCostLimit,
			version.Name+", all rules")
	}
	if failed {
		os.Exit(1)
	}
}
