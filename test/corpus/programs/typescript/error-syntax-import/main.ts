import "./broken";
